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

type Pages = { data: Row[] | undefined; hasNextPage: boolean; isFetching: boolean; isLoading: boolean; isError: boolean; more: () => void }
type Named = { options: Option[]; reading: boolean }

function useAll(pages: Pages): { rows: Row[]; reading: boolean } {
  const { data, hasNextPage, isFetching, isLoading, isError, more } = pages
  // What was refused, such as a question too many, is not asked for again with each render.
  const isMore = hasNextPage && !isFetching && !isError && (data?.length ?? 0) < MOST
  useEffect(() => {
    if (isMore) more()
  })
  return { rows: data ?? [], reading: isLoading }
}

function useSegments(when: boolean): Named {
  const own = useAll(usePages('v4ListSegments', LIMIT, { when }))
  const system = useRead('v4ListSystemSegments', {}, { when })
  const options = [
    ...(system.data?.data ?? []).map(({ id, name }) => ({ code: id, label: name, group: t('System') })),
    ...own.rows.map(({ id, name }) => ({ code: id, label: name, group: t('Own') })),
  ]
  return { options, reading: own.reading || system.isLoading }
}

function useExperiments(when: boolean): Named {
  const { rows, reading } = useAll(usePages('v4ListExperiments', LIMIT, { when }))
  return { options: rows.map(({ id, name }) => ({ code: id, label: name })), reading }
}

const nameIn = (options: readonly Option[], id: string) => options.find(({ code }) => code === id)?.label ?? id

/** A segment or an experiment by its name; its id may be typed, too. */
export function NamedPick({ kind, id, onPick }: { kind: Kind; id: string; onPick: (id: string) => void }) {
  const [opened, setOpened] = useState(false)
  const when = opened || id !== ''
  const segments = useSegments(when && kind === 'segment')
  const experiments = useExperiments(when && kind === 'experiment')
  const { options, reading } = kind === 'segment' ? segments : experiments
  return (
    <Pick
      name={kind === 'segment' ? t('Segment') : t('Experiment')}
      text={id === '' ? t('Choose') : nameIn(options, id)}
      options={options}
      chosen={[id]}
      free
      reading={reading}
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
  return (kind, id) => nameIn((kind === 'segment' ? segments : experiments).options, id)
}

/** The conditions as a sentence, with the names of what they name. */
export const ConditionsInWords = ({ conditions }: { conditions: readonly ConditionInput[] }) => (
  <bdi className="rule-words">{conditionsInWords(conditions, useNamesIn(conditions))}</bdi>
)
