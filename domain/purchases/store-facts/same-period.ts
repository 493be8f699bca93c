import type { Tied } from './order.ts'
import type { PeriodStatement } from './statement.ts'

const isOriginal = ({ ids }: PeriodStatement): boolean => ids.transaction !== null && ids.transaction === ids.originalTransaction

/** The original transaction first, then the lowest number: a function of the set of ids, so that no order of arrival decides. */
const inOrder = (a: PeriodStatement, b: PeriodStatement): number =>
  Number(isOriginal(b)) - Number(isOriginal(a)) || a.subject.length - b.subject.length || (a.subject < b.subject ? -1 : 1)

/** The transaction that stands for each further id of its period. */
function namedByOthers(statements: Tied<PeriodStatement>[]): Map<string, string> {
  const named = statements.filter(({ ids, subject }) => ids.lineItem !== undefined && subject !== '')
  const others = [...Map.groupBy(named, ({ ids }) => ids.lineItem!)].flatMap(([, of]) => {
    const subjects = [...new Set(of.toSorted(inOrder).map(({ subject }) => subject))]
    return subjects.slice(1).map(other => [other, subjects[0]!] as const)
  })
  return new Map(others)
}

/**
 * A period that is reported again under a further id. It is neither another period nor a renewal: only its own transaction states when the
 * period began.
 */
function asOfTransaction(statement: Tied<PeriodStatement>, subject: string): Tied<PeriodStatement> {
  const { begins: _begins, isRenewal: _isRenewal, isNewBuy: _isNewBuy, ...reported } = statement.reported
  return { ...statement, subject, ids: { ...statement.ids, transaction: null }, reported }
}

/**
 * The statements with one subject per period. Apple grants one period under several transaction ids, to a second device for example; they share
 * their line item. `aliases`: the further ids by the subject that stands for them.
 */
export function underOneSubject(statements: Tied<PeriodStatement>[]): {
  statements: Tied<PeriodStatement>[]
  aliases: Map<string, string[]>
} {
  const standsFor = namedByOthers(statements)
  if (standsFor.size === 0) return { statements, aliases: new Map() }
  const aliases = new Map<string, string[]>()
  for (const [other, subject] of standsFor) aliases.set(subject, [...(aliases.get(subject) ?? []), other])
  const united = statements.map(statement => {
    const subject = standsFor.get(statement.subject)
    return subject === undefined ? statement : asOfTransaction(statement, subject)
  })
  return { statements: united, aliases }
}
