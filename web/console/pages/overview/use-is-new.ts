import { useRead } from '../../data/read.ts'

/** Whether the environment has seen no event yet. Undefined while that is not known. */
export function useIsNew(): boolean | undefined {
  const { data } = useRead('v4ListEvents', { query: { limit: 10, sort_order: 'desc' } }, { topics: ['events'] })
  return data && data.data.length === 0
}
