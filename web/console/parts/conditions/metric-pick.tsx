import { useState } from 'react'
import { usePages } from '../../data/read.ts'
import { type Option, Pick } from '../pick.tsx'
import { t } from '../t.ts'
import { METRICS, metricText, PROPERTIES } from './metrics.ts'

const ACCESS = 'Access'
const MEMBERSHIP = 'Membership'

/** What a condition is about. A key that is typed and is nothing else is that of a property. */
export function MetricPick({ metric, references, onPick }: { metric: string; references: boolean; onPick: (metric: string) => void }) {
  const [opened, setOpened] = useState(false)
  const entitlements = usePages('v4ListEntitlements', { query: { limit: 100 } }, { when: opened })
  const own: Option[] = Object.entries(METRICS)
    .filter(([, { group }]) => references || group !== MEMBERSHIP)
    .map(([code, { label, group }]) => ({ code, label: t(label), group: t(group) }))
  const access: Option[] = (entitlements.data ?? []).map(({ id }) => ({
    code: `entitlement:${id}`,
    label: metricText(`entitlement:${id}`),
    group: t(ACCESS),
  }))
  const properties: Option[] = PROPERTIES.map(key => ({
    code: `property:${key}`,
    label: metricText(`property:${key}`),
    group: t('Properties'),
  }))
  return (
    <Pick
      name={t('What is asked')}
      text={metricText(metric)}
      options={[...own, ...access, ...properties]}
      chosen={[metric]}
      free
      typedAs={typed => metricText(codeOf(typed))}
      wide
      onOpen={() => setOpened(true)}
      onPick={code => onPick(codeOf(code))}
    />
  )
}

const codeOf = (typed: string): string =>
  Object.hasOwn(METRICS, typed) || typed.startsWith('property:') || typed.startsWith('entitlement:') ? typed : `property:${typed}`
