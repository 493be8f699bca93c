import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { components } from '../../../../schemas/generated/console/api.ts'
import type { ApiError } from '../../data/api-error.ts'
import { request } from '../../data/request.ts'

export type Status = components['schemas']['Status']

/** The figures are computed every 15 s. */
const EVERY = 15_000

/** How the installation is; for its owners, of all projects. */
export const useStatus = (when: boolean): UseQueryResult<Status, ApiError> =>
  useQuery<Status, ApiError>({
    queryKey: ['status'],
    enabled: when,
    refetchInterval: EVERY,
    queryFn: ({ signal }) => request('/console/api/status', { method: 'GET', signal }),
  })
