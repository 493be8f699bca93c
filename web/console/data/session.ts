import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'
import { client } from './client.ts'
import { request } from './request.ts'

export type Role = 'viewer' | 'editor' | 'admin'
export type Theme = 'light' | 'dark' | 'auto'
export type Preferences = {
  zone?: string
  theme?: Theme
  density?: 'normal' | 'compact'
  first_weekday?: number
  pins?: string[]
}
export type Project = { id: string; name: string; role: Role; environments: ('production' | 'sandbox')[] }
export type Session = {
  operator: { id: string; email: string; name: string; is_owner: boolean; preferences: Preferences }
  projects: Project[]
  /** Unix second until which the password need not be given again. */
  again_until: number | null
  idle_until: number
  version: string
  live: { topics: string[] }
  /** Another build than before: there are newer pages. */
  console: { build: string | null }
}

export const SIGN_IN = '/sign-in'
/** Where a person shows once more that it is still them, before something sensitive. */
export const SIGN_IN_AGAIN = '/sign-in/again'
const KEPT = 'perennial-preferences'

/** A session that has ended stays, so that the page of it stays. */
type State = { session: Session | undefined; isSignedOut: boolean }

const KEY = ['session'] as const

/** The session as the service has written it into the frame of the page; undefined where it could not. */
function given(): State | undefined {
  const text = document.getElementById('session')?.textContent
  return text ? seen(JSON.parse(text)) : undefined
}

function seen(session: Session): State {
  localStorage.setItem(KEPT, JSON.stringify(session.operator.preferences))
  return { session, isSignedOut: false }
}

const options = {
  queryKey: KEY,
  initialData: given,
  initialDataUpdatedAt: performance.timeOrigin,
  queryFn: async ({ signal, client }: { signal: AbortSignal; client: QueryClient }): Promise<State> => {
    try {
      return seen(await request<Session>('/console/api/session', { method: 'GET', signal }))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      return { session: client.getQueryData<State>(KEY)?.session, isSignedOut: true }
    }
  },
  staleTime: 60_000,
  refetchOnWindowFocus: 'always',
  refetchInterval: 300_000,
} as const

/** The session as it is known now, outside of what is drawn. */
export const sessionNow = (): Session | undefined => (client.getQueryData<State>(KEY) ?? given())?.session

/** The session of this browser: who is signed in, and the projects that they may see. */
export const useSession = () => useQuery<State, ApiError, Session | undefined>({ ...options, select: ({ session }) => session })

/** Whether nobody is signed in, and how to look again. */
export function useSignedOut() {
  const { data, refetch, isFetching } = useQuery<State, ApiError, boolean>({ ...options, select: ({ isSignedOut }) => isSignedOut })
  return { isSignedOut: data === true, refetch, isFetching }
}

function kept(): Preferences {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Preferences
  } catch {
    return {}
  }
}

let ofBrowser: string | undefined
/** The zone of the browser. To ask for it takes 0.3 ms, and every time on a page is written in one. */
const zoneHere = () => (ofBrowser ??= Intl.DateTimeFormat().resolvedOptions().timeZone)

/** The preferences of the operator; until the session is read, those that this browser saw last. */
export const usePreferences = () => preferencesOf(useSession().data)

export function preferencesOf(
  session: Session | undefined,
): Required<Pick<Preferences, 'zone' | 'theme' | 'density' | 'first_weekday' | 'pins'>> {
  const own = session ? session.operator.preferences : kept()
  return {
    zone: own.zone ?? zoneHere(),
    theme: own.theme ?? 'auto',
    density: own.density ?? 'normal',
    first_weekday: own.first_weekday ?? 1,
    pins: own.pins ?? [],
  }
}

/** Changes preferences at once and stores them with the operator; what could not be stored is taken back. */
export function useSetPreferences() {
  const client = useQueryClient()
  return useMutation<unknown, ApiError, Preferences, State | undefined>({
    // Without a network it fails at once, and is taken back at once.
    networkMode: 'always',
    mutationFn: preferences => request('/console/api/me', { method: 'PATCH', body: { preferences } }),
    onMutate: preferences => {
      const before = client.getQueryData<State>(KEY)
      if (before?.session) {
        const { session } = before
        const operator = { ...session.operator, preferences: { ...session.operator.preferences, ...preferences } }
        client.setQueryData<State>(KEY, { ...before, session: { ...session, operator } })
        localStorage.setItem(KEPT, JSON.stringify(operator.preferences))
      }
      return before
    },
    onError: (_error, _preferences, before) => before && client.setQueryData(KEY, before),
  })
}

export async function endSession() {
  await request('/console/api/session/end', { method: 'POST' })
  location.assign(SIGN_IN)
}

const RANK: Record<Role, number> = { viewer: 0, editor: 1, admin: 2 }

/** Why the operator may not do what needs `role` here; undefined when nothing is in the way. The service decides; this only says so beforehand. */
export function useDenied(role: Role, project: string | undefined): string | undefined {
  const { data } = useSession()
  const own = data?.projects.find(({ id }) => id === project)
  if (!own || RANK[own.role] >= RANK[role]) return undefined
  return `needs the role ${role}`
}
