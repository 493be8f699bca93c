import type { AutomationData } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { plain } from '../../parts/t.ts'
import { allOf, type NameOfEvent, type StepType, stepsOf } from './words.ts'

const LIMIT = { query: { limit: 100 } }
/** An id is no text: what has no name is shown by it. */
const ID = /^[a-z]{2,4}_[0-9a-z]{10,}$/

/** Names of event types. */
export function useEventNames(): NameOfEvent {
  const { data } = useRead('v4ListEventCatalogue', {})
  const names = new Map(
    data?.data.flatMap(({ event_name, uid }) => [event_name, uid ?? event_name].map(code => [code, plain(event_name)] as const)),
  )
  return code => names.get(code) ?? (ID.test(code) ? code : plain(code))
}

/** The same, and names of the integrations, screens and pushes that the steps name; those are read only where a step names one. */
export function useNames(data: AutomationData): NameOfEvent {
  const nameOf = useEventNames()
  const types = new Set<StepType>(allOf(stepsOf(data)).map(({ type }) => type))
  const integrations = useRead('v4ListIntegrations', {}, { when: types.has('webhook') })
  const screens = useRead('v4ListScreens', LIMIT, { when: types.has('screen') })
  const pushes = useRead('v4ListPushes', LIMIT, { when: types.has('push') })
  const names = new Map([
    ...(integrations.data?.data ?? []).map(({ id, title }) => [id, title] as const),
    ...[...(screens.data?.data ?? []), ...(pushes.data?.data ?? [])].map(({ id, name }) => [id, name] as const),
  ])
  return code => names.get(code) ?? nameOf(code)
}
