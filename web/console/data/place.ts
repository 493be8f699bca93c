import { useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useSession } from './session.ts'

/** The project and environment of an address. They stand in the address, so that two tabs may show different ones. */
export type Place = { project: string; environment: 'production' | 'sandbox' }

/** The place of the address; without `p` the operator's first project. Undefined while that is not known. */
export function usePlace(): Place | undefined {
  const search = useRouterState({ select: state => state.location.search as Record<string, string | undefined> })
  const { data } = useSession()
  const project = search.p ?? data?.projects[0]?.id
  const environment = search.env === 'sandbox' ? 'sandbox' : 'production'
  return useMemo(() => (project === undefined ? undefined : { project, environment }), [project, environment])
}

/** What every link inside the console carries on. */
export const searchOf = (place: Place | undefined): Record<string, string> =>
  place === undefined ? {} : { p: place.project, ...(place.environment === 'sandbox' && { env: 'sandbox' }) }

export const addressOf = ({ project, environment }: Place) => `/console/api/${encodeURIComponent(project)}/${environment}`
