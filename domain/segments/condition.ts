export type Comparator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'contains' | 'not_contains'

/** One rule about a user, as it is stored and shown. A set of them is joined by AND; the empty set matches every user. */
export type Condition = { metric: string; comparator: Comparator; value: string; negate: boolean }
export type ConditionInput = Omit<Condition, 'negate'> & { negate?: boolean }

/** In the order of the description: jsonb keeps keys in an order of its own. */
export const shownCondition = ({ metric, comparator, value, negate = false }: ConditionInput): Condition => ({
  metric,
  comparator,
  value,
  negate,
})

/** The segments that conditions name, each once, in order: whoever locks them does so in the same order as everybody else. */
export const segmentIdsIn = (conditions: readonly ConditionInput[]): string[] =>
  [...new Set(conditions.filter(({ metric }) => metric === 'segment').map(({ value }) => value))].sort()
