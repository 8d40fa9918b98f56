// A flat catalog ("a.b.c": text) as the object that its dots make of it.
type Head<K> = K extends `${infer H}.${string}` ? H : K;
type Below<T, H extends string> = { [K in keyof T as K extends `${H}.${infer R}` ? R : never]: T[K] };
export type Nested<T> = { [H in Head<keyof T> & string]: H extends keyof T ? T[H] : Nested<Below<T, H>> };

type Both<U> = (U extends any ? (value: U) => void : never) extends (value: infer I) => void ? I : never;
type Part<N, K extends string> = K extends keyof N ? N[K] : {};
type Joined<N, C extends string> = Part<N, C> & Part<N, "transport"> & { exports: Part<N, "export"> };
export type Words<T extends any[], C extends string> = Joined<Nested<Both<T[number]>>, C>;
