import type * as generated from './generated/sdk.gen.ts'

/** What an operation takes: `path`, `query`, `body` and `headers` as described, and a signal that ends the wait. */
export type Call<Data> = { [Part in keyof Data as Exclude<Part, 'url'>]: Data[Part] } & { signal?: AbortSignal | undefined }

/** What a call gives: the JSON of a success (nothing for 204); a failure rejects with `PerennialError`. */
export interface Answer<Data> extends Promise<Data> {
  /** The same together with the HTTP response, for its status and headers. The body has been read. */
  withResponse(): Promise<{ data: Data; response: Response }>
}

// Optional where nothing has to be given. In brackets, so that `Options | undefined` is judged as one.
type Taking<Options, Data> = [Options] extends [generated.Options<infer Taken, boolean>]
  ? (call: Call<Taken>) => Answer<Data>
  : [Options] extends [generated.Options<infer Taken, boolean> | undefined]
    ? (call?: Call<Taken>) => Answer<Data>
    : never

type Succeeded<Result> = Result extends { data: infer Data; error?: undefined } ? Data : never

/** A function for each operation of the description, named by its operation id. */
export type Operations = {
  [Name in keyof typeof generated]: (typeof generated)[Name] extends (options: infer Options) => Promise<infer Result>
    ? Taking<Options, Succeeded<Result>>
    : never
}
