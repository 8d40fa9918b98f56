// Numbers in order: grouped by a key, and searched for a moment.

/** What belongs to the first of the falling `[least, result]` that `value` reaches; `rest` below all of them. */
export const bandOf = (value, bands, rest) => bands.find(([least]) => value >= least)?.[1] ?? rest;

/** Ids 0..n-1 grouped by a key column: ids of group g are `id[start[g]..start[g+1]]`, in rising order. */
export function groups(keys, ngroups, n = keys.length) {
  const start = new Int32Array(ngroups + 1),
    id = new Int32Array(n);
  for (let i = 0; i < n; i++) start[keys[i] + 1]++;
  for (let g = 0; g < ngroups; g++) start[g + 1] += start[g];
  const next = start.slice(0, ngroups);
  for (let i = 0; i < n; i++) id[next[keys[i]]++] = i;
  return { start, id };
}

/** The ids of one group. */
export const idsOf = ({ start, id }, group) => id.subarray(start[group], start[group + 1]);

/** Ids of the transfers of a step. */
export const idsOfStep = ({ byStep }, s) => idsOf(byStep, s);

/** The position after the last of the rising `times` that is at most t, looked for from `from` to `to`. */
export function upTo(times, t, from = 0, to = times.length) {
  let lo = from,
    hi = to;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (times[mid] <= t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

export const clean = (v) => (Number.isFinite(v) ? v : 0);
