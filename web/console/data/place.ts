import { useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Session, sessionNow, useSession } from './session.ts'

/** The project and environment of an address. They stand in the address, so that two tabs may show different ones. */
export type Place = { project: string; environment: 'production' | 'sandbox' }

type Search = Record<string, string | undefined>

const projectOf = (search: Search, session: Session | undefined) => search.p ?? session?.projects[0]?.id
const environmentOf = (search: Search) => (search.env === 'sandbox' ? 'sandbox' : 'production')

/** The place of the address; without `p` the operator's first project. Undefined while that is not known. */
export function usePlace(): Place | undefined {
  const search = useRouterState({ select: state => state.location.search as Search })
  const { data } = useSession()
  const project = projectOf(search, data)
  const environment = environmentOf(search)
  return useMemo(() => (project === undefined ? undefined : { project, environment }), [project, environment])
}

/** The same of an address that is not shown yet. */
export function placeOf(search: Search): Place | undefined {
  const project = projectOf(search, sessionNow())
  return project === undefined ? undefined : { project, environment: environmentOf(search) }
}

/** What every link inside the console carries on. */
export const searchOf = (place: Place | undefined): Record<string, string> =>
  place === undefined ? {} : { p: place.project, ...(place.environment === 'sandbox' && { env: 'sandbox' }) }

export const addressOf = ({ project, environment }: Place) => `/console/api/${encodeURIComponent(project)}/${environment}`
