// Compile-time only: `tsc` fails here when the derived types lose precision.
import type { components } from '../../schemas/generated/api.ts'
import { type OperationId, validateEventInput } from '../../schemas/generated/operations.ts'
import type { AnswerBody, Input } from '../../schemas/operation-types.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <_A, _B>(_proof: Same<_A, _B>) => undefined

export const proofs = () => {
  same<Input<'v4ListEvents'>['query']['limit'], number>(true)
  same<Input<'v4ListEvents'>['query']['sort_order'], 'asc' | 'desc'>(true)
  same<Input<'v4ListExports'>['query']['limit'], number>(true)
  same<Input<'v4ListExports'>['query']['starting_after'], string | undefined>(true)
  same<Input<'v4GetUser'>['path']['user_id'], string>(true)
  same<Input<'v4GetUser'>['body'], undefined>(true)
  same<keyof Input<'v4GetUser'>['query'], never>(true)
  same<keyof Input<'v4CreateExport'>['path'], never>(true)
  same<Input<'v4CreateExport'>['body']['format'], 'csv' | 'json' | 'ndjson' | 'parquet'>(true)
  same<Input<'v4CreateExport'>['body']['platform'], 'iOS' | 'Android' | 'Stripe' | null>(true)
  same<Input<'v4CreateIdentity'>['body']['user_id'], string | null>(true)
  same<Input<'v4CreateEvents'>['body']['events'], Record<string, unknown>[]>(true)
  same<Input<'v4CreateEvents'>['body']['trigger'], boolean | 'always'>(true)
  same<AnswerBody<'v4GetUser'>['id'], string>(true)
  same<AnswerBody<'v4CreateUser'>, components['schemas']['User']>(true)
  same<AnswerBody<'v4CreateExport'>['manifest'], components['schemas']['ExportManifest']>(true)
  same<null extends AnswerBody<'v4GetExport'>['error'] ? true : false, true>(true)
  same<AnswerBody<'v4ListExports'>['next_cursor'], string | undefined>(true)
  same<'v4GetNothing' extends OperationId ? true : false, false>(true)
}

export const narrowed = (item: unknown) => {
  if (!validateEventInput(item)) return undefined
  same<typeof item, components['schemas']['EventInput']>(true)
  return item.happened_at
}
