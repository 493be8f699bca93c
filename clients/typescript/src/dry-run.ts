import type { Answer } from './calls.ts'
import type { DryRun } from './generated/types.gen.ts'

type Tried = { headers?: { 'Dry-Run'?: boolean } | undefined }
/** These operations answer in their own shape. */
type Own = { object: 'event_batch' } | { object: 'list' }

/**
 * What a call would do, without doing it: `await dryRun(api.v4DeleteProduct, { path })`. It rejects as the call would. An operation that changes
 * nothing is a type error.
 */
export const dryRun = <Call extends Tried, Data>(operation: (call: Call) => Answer<Data>, call: NoInfer<Call>) =>
  operation({ ...call, headers: { ...call.headers, 'Dry-Run': true } }) as unknown as Answer<Data extends Own ? Data : DryRun>
