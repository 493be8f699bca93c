// The seam between the service and the library that sends traces. Without traces no library is loaded, and every function here is one check of a
// variable: all other files use this one and know no library.

/** Names and values of a span. Never a parameter of a statement, a path, an id of a customer or a body: traces leave the installation. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The span under way. `failed`: its work ended in an error without throwing it. */
export type OpenSpan = { rename(name: string): void; note(attributes: Attributes): void; failed(type: string): void }

/** `client`: the work is a call to another program. */
export type SpanKind = 'internal' | 'client'

/** A claimed job. `stored`: the trace of its row. `dueAt`, `begunAt`: when it fell due, and when a worker began it, in Unix milliseconds. */
export type TracedJob = { kind: string; stored: string | null; dueAt: number; begunAt: number }

/**
 * The execution of a job. `within`: a part of its work. `renewed`: the trace that the job's row is to have from now on; null: the one that it has,
 * also where the span is not kept.
 */
export type OpenJob = { within: Within; renewed: string | null; span: OpenSpan; end(): void }
export type Within = <T>(work: () => Promise<T>) => Promise<T>

/** What a library of traces does for the service. A trace as rows have it is a text; only the library reads it. */
export type Tracing = {
  /** A part of the trace under way; without one, no span. */
  span<T>(name: string, attributes: Attributes, work: (span: OpenSpan) => Promise<T>, kind: SpanKind): Promise<T>
  /** A request to the service. `traceparent`: the header of the caller. */
  request<T>(name: string, traceparent: string | undefined, attributes: Attributes, work: (span: OpenSpan) => Promise<T>): Promise<T>
  /** The beginning of a trace. */
  root<T>(name: string, work: (span: OpenSpan) => Promise<T>): Promise<T>
  /** Work for several traces at once, as rows have them: a trace of its own with links to them. For a single one, a part of it. */
  batch<T>(name: string, origins: readonly (string | null)[], work: () => Promise<T>): Promise<T>
  /** Begins the span of a job, in which all of its work is done. */
  job(job: TracedJob): OpenJob
  /** Whether the trace under way is kept. */
  isRecording(): boolean
  /** The trace under way as a row has it. `linked`: what comes of the row is linked to the trace, and is no part of it. */
  stored(isLinked: boolean): string | null
  /** The header for a request of the trace under way. */
  traceparent(): string | null
  traceId(): string | null
  /** The work belongs to no trace: others have it done as well. */
  detached<T>(work: () => T): T
}

/** Of work that is not recorded. */
export const NO_SPAN: OpenSpan = { rename() {}, note() {}, failed() {} }

let tracing: Tracing | undefined

/** For the whole process, before its pools and workers are made. Undefined: no traces. */
export function setTracing(given: Tracing | undefined): void {
  tracing = given
}

export const isTracing = (): boolean => tracing !== undefined

export const span = <T>(
  name: string,
  attributes: Attributes,
  work: (span: OpenSpan) => Promise<T>,
  kind: SpanKind = 'internal',
): Promise<T> => (tracing ? tracing.span(name, attributes, work, kind) : work(NO_SPAN))

export const requestSpan = <T>(
  name: string,
  traceparent: string | undefined,
  attributes: Attributes,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> => (tracing ? tracing.request(name, traceparent, attributes, work) : work(NO_SPAN))

export const rootSpan = <T>(name: string, work: (span: OpenSpan) => Promise<T>): Promise<T> =>
  tracing ? tracing.root(name, work) : work(NO_SPAN)

export const batchSpan = <T>(name: string, origins: () => readonly (string | null)[], work: () => Promise<T>): Promise<T> =>
  tracing ? tracing.batch(name, origins(), work) : work()

const NO_JOB: OpenJob = { within: work => work(), renewed: null, span: NO_SPAN, end() {} }

export const openJob = (job: TracedJob): OpenJob => tracing?.job(job) ?? NO_JOB

export const isRecording = (): boolean => tracing?.isRecording() ?? false

/** The trace under way, for the column `trace_context` of a row that carries its work on; null without traces. */
export const storedTrace = (): string | null => (tracing ? tracing.stored(false) : null)

/** The same for rows of which one request makes any number: each is the beginning of a trace of its own. */
export const linkedTrace = (): string | null => (tracing ? tracing.stored(true) : null)

export const traceparent = (): string | null => (tracing ? tracing.traceparent() : null)

/** The id of the trace under way. */
export const traceId = (): string | null => (tracing ? tracing.traceId() : null)

export const detached = <T>(work: () => T): T => (tracing ? tracing.detached(work) : work())

/** The id of the trace that a row has in its column `trace_context`. */
export const traceIdOf = (stored: string | null): string | null => stored?.slice(3, 35) ?? null
