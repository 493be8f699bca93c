import type * as generated from './generated/sdk.gen.ts'

/** The input of an operation: `path`, `query`, `body` and `headers` as described, and a signal that aborts the request. */
export type Call<Data> = { [Part in keyof Data as Exclude<Part, 'url'>]: Data[Part] } & { signal?: AbortSignal | undefined }

/** The result of a call: the JSON of a success (nothing for 204). A failure rejects with `PerennialError`. */
export interface Answer<Data> extends Promise<Data> {
  /** The same with the HTTP response, for its status and headers. The body is already read. */
  withResponse(): Promise<{ data: Data; response: Response }>
}

// The call is optional when no part of it is required. The brackets keep `Options | undefined` one type instead of distributing over it.
type OperationCall<Options, Data> = [Options] extends [generated.Options<infer Input, boolean>]
  ? (call: Call<Input>) => Answer<Data>
  : [Options] extends [generated.Options<infer Input, boolean> | undefined]
    ? (call?: Call<Input>) => Answer<Data>
    : never

type Succeeded<Result> = Result extends { data: infer Data; error?: undefined } ? Data : never

/** A function for each operation of the description, named by its operation id. */
export type Operations = {
  [Name in keyof typeof generated]: (typeof generated)[Name] extends (options: infer Options) => Promise<infer Result>
    ? OperationCall<Options, Succeeded<Result>>
    : never
}
