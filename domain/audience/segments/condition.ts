export type Comparator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'contains' | 'not_contains'

/** One rule about a user, as it is stored and shown. The conditions of a list are joined by AND; an empty list matches every user. */
export type Condition = { metric: string; comparator: Comparator; value: string; negate: boolean }
export type ConditionInput = Omit<Condition, 'negate'> & { negate?: boolean }

/** That a user is on the list of the segment. A listed segment has this condition besides those that are shown; nobody can give it. */
export const onList = (segment: string): Condition => ({ metric: 'listed', comparator: 'eq', value: segment, negate: false })

export const isOnList = ({ metric }: Condition): boolean => metric === 'listed'

/** With its keys in the order of the API description: jsonb stores keys in another order. */
export const shownCondition = ({ metric, comparator, value, negate = false }: ConditionInput): Condition => ({
  metric,
  comparator,
  value,
  negate,
})

/** The ids of the segments that the conditions name, each once, sorted: all transactions lock segments in this order. */
export const segmentIdsIn = (conditions: readonly ConditionInput[]): string[] =>
  [...new Set(conditions.filter(({ metric }) => metric === 'segment').map(({ value }) => value))].sort()
