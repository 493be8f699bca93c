import type { Condition } from '../segments/condition.ts'

export type ConfigurationStatus = 'draft' | 'active' | 'archived'

export type Configuration = {
  id: string
  name: string
  status: ConfigurationStatus
  /** Decimal text. */
  segment_percent: string
  segmentation_conditions: Condition[]
  context_key: string | null
  created_at: string
  updated_at: string
}

export const CONFIGURATION_COLUMNS = 'id, name, status, segment_percent, segmentation_conditions, context_key, created_at, updated_at'

/** What a mutation found and left; the same object twice when it changed nothing. */
export type Change<T> = { before: T; after: T }
export const unchanged = <T>(row: T): Change<T> => ({ before: row, after: row })
