import { useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Session, sessionNow, useSession } from './session.ts'

/** The project and environment of an address. They stand in the address, so that two tabs may show different ones. */
export type Place = { project: string; environment: 'production' | 'sandbox' }

type Search = Record<string, string | undefined>

const projectOf = (p: string | undefined, session: Session | undefined) => p ?? session?.projects[0]?.id
const environmentOf = (env: string | undefined) => (env === 'sandbox' ? 'sandbox' : 'production')

/** The place of the address; without `p` the operator's first project. Undefined while that is not known. */
export function usePlace(): Place | undefined {
  // The two texts alone: every link of a page asks for the place, and another filter in the address is no other place.
  const p = useRouterState({ select: state => (state.location.search as Search).p })
  const env = useRouterState({ select: state => (state.location.search as Search).env })
  const { data } = useSession()
  const project = projectOf(p, data)
  const environment = environmentOf(env)
  return useMemo(() => (project === undefined ? undefined : { project, environment }), [project, environment])
}

/** The same of an address that is not shown yet. */
export function placeOf({ p, env }: Search): Place | undefined {
  const project = projectOf(p, sessionNow())
  return project === undefined ? undefined : { project, environment: environmentOf(env) }
}

/** What every link inside the console carries on. */
export const searchOf = (place: Place | undefined): Record<string, string> =>
  place === undefined ? {} : { p: place.project, ...(place.environment === 'sandbox' && { env: 'sandbox' }) }

export const addressOf = ({ project, environment }: Place) => `/console/api/${encodeURIComponent(project)}/${environment}`
