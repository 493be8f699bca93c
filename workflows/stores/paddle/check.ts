import type { FetchContext, PermissionCheck } from '../store-client.ts'
import { fetchPaddlePage, type PaddleDeps } from './paddle-api.ts'

const READ = (what: string) => `give the API key of this account the permission "${what}", read`
const LATER = 'Paddle gave no answer: try again, and see whether this machine reaches the address'

const LISTS = [
  { permission: 'subscriptions', path: '/subscriptions', todo: READ('Subscriptions') },
  { permission: 'transactions', path: '/transactions', todo: READ('Transactions') },
  { permission: 'adjustments', path: '/adjustments', todo: READ('Adjustments') },
  { permission: 'events', path: '/events', todo: READ('Notifications') },
]

/** Requests one object of each type that is read: Paddle's refusal shows which permission the key lacks. */
export async function checkPaddleApi(deps: PaddleDeps, context: FetchContext): Promise<PermissionCheck[]> {
  const checks: PermissionCheck[] = []
  for (const { permission: of, path, todo } of LISTS) {
    const permission = `API of ${context.environment}, ${of}`
    const answer = await fetchPaddlePage(deps, path, { per_page: '1' }, context)
    if (answer.is === 'answer') checks.push({ is: 'granted', permission })
    else if (answer.is === 'refused') checks.push({ is: 'refused', permission, why: answer.why, todo })
    else checks.push({ is: 'no_answer', permission, why: answer.is === 'later' ? answer.why : answer.is, todo: LATER })
  }
  return checks
}
