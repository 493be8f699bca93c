import type { OAuthClient } from '../../domain/operators/grants/clients.ts'
import { rateLimiter } from '../rate-limit.ts'
import { FormProblem } from '../sign-in/form.ts'
import { parsed } from './answer.ts'
import type { OAuthDeps } from './deps.ts'
import { checkedClient } from './register.ts'

const DAY_MS = 86_400_000
/** A document without `max-age`: an operator who loads the page again does not fetch it again. */
const SHORT_MS = 60_000
/** What could not be had is not asked for again at once. */
const FAILED_MS = 10_000
const MOST_DOCUMENTS = 1_000
/** Of an operator in ten minutes. */
const MOST_FETCHES = 20
const MOST_OPERATORS = 10_000

/** A client that is named by the address of a document: https, with a path, and as a browser writes it. */
export function isDocumentAddress(id: string): boolean {
  if (!id.startsWith('https://') || id.length > 1_000 || !URL.canParse(id)) return false
  const url = new URL(id)
  return url.href === id && url.pathname !== '/' && !id.includes('#') && url.username === '' && url.password === ''
}

function lifetimeOf(cacheControl: string): number {
  if (/no-store|no-cache/i.test(cacheControl)) return 0
  const given = /max-age=(\d{1,9})/i.exec(cacheControl)?.[1]
  return given === undefined ? SHORT_MS : Math.min(Number(given) * 1000, DAY_MS)
}

function readClient(id: string, text: string): OAuthClient | null {
  const document = parsed(text)
  if (document?.client_id !== id) return null
  try {
    return { id, ...checkedClient(document) }
  } catch {
    return null
  }
}

/** `operator`: whose browser asks. */
export type ClientOf = (deps: OAuthDeps, id: string, operator: string) => Promise<OAuthClient | null>

/**
 * Finds clients by the documents at the addresses that are their ids. Null: there is none, or it says something else. Throws 429 for an operator who
 * makes this service fetch too many.
 */
export function documentClients(clock: () => number = () => performance.now()): ClientOf {
  const documents = new Map<string, { client: OAuthClient | null; until: number }>()
  const takeOf = rateLimiter({ perSecond: MOST_FETCHES / 600, burst: MOST_FETCHES }, clock, MOST_OPERATORS)
  const take = (operator: string) => {
    try {
      takeOf(operator, 1)
    } catch {
      throw new FormProblem(429, 'You have opened the pages of too many assistants. Try again in some minutes.')
    }
  }
  return async (deps, id, operator) => {
    const kept = documents.get(id)
    if (kept && kept.until > clock()) return kept.client
    documents.delete(id)
    take(operator)
    const fetched = await deps.clientDocuments(id)
    const client = fetched && readClient(id, fetched.text)
    const lifetime = fetched && client ? lifetimeOf(fetched.cacheControl) : FAILED_MS
    if (documents.size >= MOST_DOCUMENTS) documents.delete(documents.keys().next().value!)
    if (lifetime > 0) documents.set(id, { client, until: clock() + lifetime })
    return client
  }
}
