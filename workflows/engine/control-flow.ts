// Errors that end an execution of a run before the end of its workflow, besides `LeaseLost`.

/** The run continues later, perhaps in another worker. */
export class Suspended extends Error {
  /** An attempt failed; otherwise the run only waits. */
  readonly isRetry: boolean
  constructor(message: string, isRetry: boolean) {
    super(message)
    this.isRetry = isRetry
  }
}

/** The process stops: the run is given back. */
export class Interrupted extends Error {}

/** A step has used up its attempts, or must not be repeated; `cause` is the error of its last attempt. */
export class StepFailed extends Error {}
