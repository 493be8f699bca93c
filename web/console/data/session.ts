import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ApiError } from './api-error.ts'
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

/** The session of this browser; an error with status 401 means that nobody is signed in. */
export const useSession = () =>
  useQuery<Session, ApiError>({
    queryKey: ['session'],
    queryFn: async ({ signal }) => {
      const session = await request<Session>('/console/api/session', { method: 'GET', signal })
      localStorage.setItem(KEPT, JSON.stringify(session.operator.preferences))
      return session
    },
    staleTime: 60_000,
    refetchOnWindowFocus: 'always',
    refetchInterval: 300_000,
    retry: (failures, { status }) => status !== 401 && failures < 1,
  })

function kept(): Preferences {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Preferences
  } catch {
    return {}
  }
}

/** The preferences of the operator; until the session is read, those that this browser saw last. */
export function usePreferences(): Required<Pick<Preferences, 'zone' | 'theme' | 'density' | 'first_weekday' | 'pins'>> {
  const { data } = useSession()
  const own = data ? data.operator.preferences : kept()
  return {
    zone: own.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    theme: own.theme ?? 'auto',
    density: own.density ?? 'normal',
    first_weekday: own.first_weekday ?? 1,
    pins: own.pins ?? [],
  }
}

/** Changes preferences at once and stores them with the operator; what could not be stored is taken back. */
export function useSetPreferences() {
  const client = useQueryClient()
  return useMutation<unknown, ApiError, Preferences, Session | undefined>({
    mutationFn: preferences => request('/console/api/me', { method: 'PATCH', body: { preferences } }),
    onMutate: preferences => {
      const before = client.getQueryData<Session>(['session'])
      if (before) {
        const operator = { ...before.operator, preferences: { ...before.operator.preferences, ...preferences } }
        client.setQueryData<Session>(['session'], { ...before, operator })
        localStorage.setItem(KEPT, JSON.stringify(operator.preferences))
      }
      return before
    },
    onError: (_error, _preferences, before) => before && client.setQueryData(['session'], before),
  })
}

export async function endSession() {
  await request('/console/api/session/end', { method: 'POST' })
  location.assign(SIGN_IN)
}

const RANK: Record<Role, number> = { viewer: 0, editor: 1, admin: 2 }

/** Why the operator may not do what needs `role` here; undefined when he may. The service decides; this only says so beforehand. */
export function useDenied(role: Role, project: string | undefined): string | undefined {
  const { data } = useSession()
  const own = data?.projects.find(({ id }) => id === project)
  if (!own || RANK[own.role] >= RANK[role]) return undefined
  return `needs the role ${role}`
}
