import type { FetchContext, PermissionCheck } from '../store-client.ts'
import type { CertificatesFor } from './certificates.ts'
import { type ApiAnswer, fetchFromPlay, type PlayDeps, type PlayRequest } from './developer-api.ts'

const HOUR_MS = 3_600_000
/** Ids that do not exist. */
const NO_TOKEN = 'perennial-check'
const NO_ORDER = 'GPA.0000-0000-0000-00000'

const INVITE = 'in Play Console, Users and permissions, give the service account'
const TODO = {
  purchases: `${INVITE} "View app information" and "Manage orders and subscriptions" for this app; a change may take a day`,
  orders: `${INVITE} "View financial data, orders, and cancellation survey responses" for this app; without it prices and refunds are guessed`,
  account:
    'service_account_key must be a JSON key that exists still, of a project in which the Google Play Android Developer API is switched on',
  package: 'package_name must be the name of an app of the Play Console that has invited the service account',
  later: 'Google gave no answer: try again, and see whether this machine reaches the address',
}

type Question = { permission: string; todo: string; sent: PlayRequest; mustExist: boolean }

const questions = (now: number): Question[] => [
  {
    permission: 'Developer API, purchases',
    todo: TODO.purchases,
    sent: { method: 'GET', path: `purchases/subscriptionsv2/tokens/${NO_TOKEN}` },
    mustExist: false,
  },
  {
    permission: 'Developer API, orders',
    todo: TODO.orders,
    sent: { method: 'GET', path: 'orders:batchGet', query: new URLSearchParams({ orderIds: NO_ORDER }) },
    mustExist: false,
  },
  {
    permission: 'Developer API, voided purchases',
    todo: TODO.orders,
    sent: {
      method: 'GET',
      path: 'purchases/voidedpurchases',
      query: new URLSearchParams({ startTime: String(now - HOUR_MS), maxResults: '1' }),
    },
    // The only address that answers 404 for an unknown app alone.
    mustExist: true,
  },
]

function verdict({ permission, todo, mustExist }: Question, answer: ApiAnswer<object>): PermissionCheck {
  switch (answer.is) {
    case 'answer':
      return { is: 'granted', permission }
    case 'unknown':
    case 'gone':
      return mustExist ? { is: 'refused', permission, why: 'http_404', todo: TODO.package } : { is: 'granted', permission }
    case 'forbidden':
      return { is: 'refused', permission, why: 'http_403', todo }
    case 'refused':
      return { is: 'refused', permission, why: answer.why, todo: TODO.account }
    case 'later':
      return { is: 'no_answer', permission, why: answer.why, todo: TODO.later }
    default:
      return answer satisfies never
  }
}

/** Requests objects that do not exist: Google's refusal shows which permission is missing. */
export async function checkPlayApi(
  deps: PlayDeps,
  certificatesFor: (kid: string) => Promise<CertificatesFor>,
  context: FetchContext,
): Promise<PermissionCheck[]> {
  const checks: PermissionCheck[] = []
  for (const question of questions(deps.now())) checks.push(verdict(question, await fetchFromPlay<object>(deps, question.sent, context)))
  const permission = 'certificates of push tokens'
  const certificates = await certificatesFor('')
  checks.push(
    certificates.is === 'none' ? { is: 'no_answer', permission, why: 'no_certificates', todo: TODO.later } : { is: 'granted', permission },
  )
  return checks
}
