import { findClient, type OAuthClient } from '../../domain/operators/grants/clients.ts'
import { parsed } from './answer.ts'
import type { OAuthDeps } from './deps.ts'
import { checkedClient } from './register.ts'

const DAY_MS = 86_400_000
/** A document without `max-age`: an operator who loads the page again does not fetch it again. */
const SHORT_MS = 60_000
const MOST_DOCUMENTS = 1_000

/** A client that is named by the address of a document: https, with a path, and as a browser writes it. */
export function isDocumentAddress(id: string): boolean {
  if (!id.startsWith('https://') || id.length > 1_000 || !URL.canParse(id)) return false
  const url = new URL(id)
  return url.href === id && url.pathname !== '/' && url.hash === '' && url.username === '' && url.password === ''
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

export type ClientOf = (deps: OAuthDeps, id: string) => Promise<OAuthClient | null>

/** Finds a client among those that have registered, or in its document. Null: there is none, or its document says something else. */
export function clients(clock: () => number = () => performance.now()): ClientOf {
  const documents = new Map<string, { client: OAuthClient; until: number }>()
  return async (deps, id) => {
    if (!isDocumentAddress(id)) return findClient(deps.pool, id)
    const kept = documents.get(id)
    if (kept && kept.until > clock()) return kept.client
    documents.delete(id)
    const fetched = await deps.clientDocuments(id)
    const client = fetched && readClient(id, fetched.text)
    if (!client) return null
    const lifetime = lifetimeOf(fetched.cacheControl)
    if (documents.size >= MOST_DOCUMENTS) documents.delete(documents.keys().next().value!)
    if (lifetime > 0) documents.set(id, { client, until: clock() + lifetime })
    return client
  }
}
