import { useQuery } from '@tanstack/react-query'
import type { DryRun } from '../../../clients/typescript/src/index.ts'
import type { ApiError } from './api-error.ts'
import { type AnyInput, callOf, type Input, type OperationName } from './operations.ts'
import { addressOf, usePlace } from './place.ts'
import { request } from './request.ts'

/** What an operation would change, asked while `when`. It is asked anew each time: what it says holds for this moment alone. */
export function useDryRun<Name extends OperationName>(name: Name, input: Input<Name>, { when = true }: { when?: boolean } = {}) {
  const place = usePlace()
  return useQuery<DryRun, ApiError>({
    queryKey: [place, name, 'dry-run', input],
    enabled: place !== undefined && when,
    staleTime: 0,
    gcTime: 0,
    queryFn: ({ signal }) => {
      const { method, path } = callOf(name, input as AnyInput)
      const body = (input as AnyInput).body
      return request(`${addressOf(place!)}${path}`, { method, body, signal, headers: { 'Dry-Run': 'true' } })
    },
  })
}
