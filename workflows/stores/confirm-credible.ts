import { NotCredible, requireCredible } from '../../domain/purchases/store-facts/credible.ts'
import type { StoreReport } from '../../domain/purchases/store-facts/statement.ts'
import type { ClaimAnswer, ClaimToConfirm, FetchContext, StoreClient } from './store-client.ts'

function isCredible(report: StoreReport): boolean {
  try {
    requireCredible(report, Date.now())
    return true
  } catch (error) {
    if (error instanceof NotCredible) return false
    throw error
  }
}

const NOT_CREDIBLE: ClaimAnswer = { is: 'unknown', why: 'not_credible' }

/** Fetches a claimed purchase. What is not credible is not confirmed; it does not keep the customer's other lineages. */
export async function confirmCredible(
  client: Pick<StoreClient, 'confirm'>,
  claim: ClaimToConfirm,
  context: FetchContext,
): Promise<ClaimAnswer> {
  try {
    const answer = await client.confirm(claim, context)
    if (answer.is !== 'reports') return answer
    const reports = answer.reports.filter(isCredible)
    const isClaimed = reports.some(({ lineage, aliases }) => lineage === answer.lineage || aliases.includes(answer.lineage))
    return isClaimed || reports.length === answer.reports.length ? { ...answer, reports } : NOT_CREDIBLE
  } catch (error) {
    if (error instanceof NotCredible) return NOT_CREDIBLE
    throw error
  }
}
