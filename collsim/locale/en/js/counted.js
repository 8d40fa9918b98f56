// A number and its noun, in the singular where the number is 1.

export const counted = (count, one, many = `${one}s`) => `${count} ${String(count) === "1" ? one : many}`;
