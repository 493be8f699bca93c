import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { ApiError } from '../../data/api-error.ts'
import { request } from '../../data/request.ts'

/** As `schemas/console/status.yaml` describes it. */
export type Status = {
  status: 'ok' | 'degraded'
  version: string
  database: { state: 'ready' | 'slow'; version: string; bytes: number; migration: number }
  process: { runtime: string; started_at: number; memory_bytes: number }
  workers: { id: string; seen_at: number; is_alive: boolean; kinds: number }[]
  disk: { bytes: number; free_bytes: number } | null
  figures: Record<string, unknown> | null
  late: { kind: string; overdue: number; oldest_seconds: number; abandoned: number; unknown: number }[]
  consumers: { consumer: string; events: number; seconds: number; set_aside: number }[]
}

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
