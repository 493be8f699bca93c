import { environmentOf } from '../../domain/kernel/environment.ts'
import { inSequence } from '../../domain/purchases/store-facts/statement.ts'
import { raiseAlerts, refusedCredentials } from '../../domain/purchases/store-inbox/alerts.ts'
import { nextQuestion } from '../../domain/purchases/store-inbox/questions.ts'
import type { StorePlatform } from '../../domain/purchases/stores/config.ts'
import type { Verifiers } from '../../domain/purchases/verification.ts'
import type { Db } from '../../store/connect.ts'
import { confirmCredible } from './confirm-credible.ts'
import { NO_PATIENCE_MS, quotaOf } from './quota.ts'
import type { ClaimAnswer, StoreClient } from './store-client.ts'
import { storeWord } from './store-word.ts'

type Verify = Verifiers[keyof Verifiers]
type Verified = Awaited<ReturnType<Verify>>

function verified(answer: ClaimAnswer, question: number): Verified {
  switch (answer.is) {
    case 'reports': {
      const { environment, reports, lineage, subject } = answer
      return { is: 'confirmed', environment, reports: inSequence(reports, question), lineage, subject }
    }
    case 'unknown':
      return answer
    case 'gone':
      return { is: 'unknown', word: answer.word }
    case 'later':
      return { is: 'no_answer', word: storeWord(answer.why) }
    case 'refused':
      return { is: 'no_answer', isRefused: true, word: storeWord(answer.why) }
    default:
      return answer satisfies never
  }
}

/**
 * Fetches claimed purchases from the stores, within the part of their budgets that is kept for claims. What is fetched only for the reason of a refusal
 * leaves that part alone, and raises no alert: nobody has asked for that environment.
 */
export function storeVerifiers(db: Db, clients: Record<StorePlatform, StoreClient>): Verifiers {
  const by =
    (store: StorePlatform): Verify =>
    async ({ claim, project, environment, config, secret, signal, isForReason }) => {
      const settings = { project, enabled: config?.enabled ?? false, value: secret }
      const budget = { project, platform: store, environment: store === 'google' ? null : environment }
      const quota = isForReason ? quotaOf(db, budget, 'refresh', signal, NO_PATIENCE_MS) : quotaOf(db, budget, 'claim', signal)
      const question = await nextQuestion(db)
      const answer = await confirmCredible(clients[store], claim, { settings, environment, signal, quota })
      if (answer.is === 'refused' && !isForReason)
        await raiseAlerts(db, [refusedCredentials(project, store, await environmentOf(db, project, environment))])
      return verified(answer, question)
    }
  return {
    app_store: by('apple'),
    play_store: by('google'),
    stripe: by('stripe'),
    paddle: by('paddle'),
  }
}
