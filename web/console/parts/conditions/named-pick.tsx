import { useEffect, useState } from 'react'
import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { usePages, useRead } from '../../data/read.ts'
import { type Option, Pick } from '../pick.tsx'
import { t } from '../t.ts'
import { conditionsInWords, type NameOf } from './words.ts'

type Kind = 'segment' | 'experiment'
type Row = { id: string; name: string }

/** So many names are read by themselves; of more, the id may be typed. */
const MOST = 1_000
const LIMIT = { query: { limit: 100 } }

type Pages = { data: Row[] | undefined; hasNextPage: boolean; isFetching: boolean; isError: boolean; more: () => void }

function useAll(pages: Pages): Row[] {
  const { data, hasNextPage, isFetching, isError, more } = pages
  // What was refused, such as a question too many, is not asked for again with each render.
  const isMore = hasNextPage && !isFetching && !isError && (data?.length ?? 0) < MOST
  useEffect(() => {
    if (isMore) more()
  })
  return data ?? []
}

function useSegments(when: boolean): Option[] {
  const own = useAll(usePages('v4ListSegments', LIMIT, { when }))
  const system = useRead('v4ListSystemSegments', {}, { when })
  return [
    ...(system.data?.data ?? []).map(({ id, name }) => ({ code: id, label: name, group: t('System') })),
    ...own.map(({ id, name }) => ({ code: id, label: name, group: t('Own') })),
  ]
}

const useExperiments = (when: boolean): Option[] =>
  useAll(usePages('v4ListExperiments', LIMIT, { when })).map(({ id, name }) => ({ code: id, label: name }))

const nameIn = (options: readonly Option[], id: string) => options.find(({ code }) => code === id)?.label ?? id

/** A segment or an experiment by its name; its id may be typed, too. */
export function NamedPick({ kind, id, onPick }: { kind: Kind; id: string; onPick: (id: string) => void }) {
  const [opened, setOpened] = useState(false)
  const when = opened || id !== ''
  const segments = useSegments(when && kind === 'segment')
  const experiments = useExperiments(when && kind === 'experiment')
  const options = kind === 'segment' ? segments : experiments
  return (
    <Pick
      name={kind === 'segment' ? t('Segment') : t('Experiment')}
      text={id === '' ? t('Choose') : nameIn(options, id)}
      options={options}
      chosen={[id]}
      free
      wide
      onOpen={() => setOpened(true)}
      onPick={onPick}
    />
  )
}

/** Names of what conditions name, read once there is something to name. */
export function useNamesIn(conditions: readonly ConditionInput[]): NameOf {
  const names = (metric: string) => conditions.some(one => one.metric === metric)
  const segments = useSegments(names('segment'))
  const experiments = useExperiments(names('attached_experiment'))
  return (kind, id) => nameIn(kind === 'segment' ? segments : experiments, id)
}

/** The conditions as a sentence, with the names of what they name. */
export const ConditionsInWords = ({ conditions }: { conditions: readonly ConditionInput[] }) => (
  <bdi className="rule-words">{conditionsInWords(conditions, useNamesIn(conditions))}</bdi>
)
