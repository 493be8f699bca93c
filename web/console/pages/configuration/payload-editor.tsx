import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useOne, useWrite } from '../../data/write.ts'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type Difference, Newer, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'
import { Differences, linesOf } from './differences.tsx'
import { type Base, type Draft, draftOf, resultOf, turned, useKept } from './draft.ts'
import { JsonEdit } from './json-edit.tsx'
import { faultsOf, isSame, isSameTypes, newRow, payloadIn } from './payload.ts'
import { RowFields } from './row-fields.tsx'

const CHANGES = {
  changes: ['v4GetRemoteConfiguration', 'v4ListRemoteConfigurations', 'v4GetRemoteConfigurationPayloadMapping'],
} as const

/** Edits payload and types, by field or as JSON, and shows what is different from what is stored before it is saved. */
export default function PayloadEditor({ id, stored, onClose }: { id: string; stored: Base; onClose: () => void }) {
  const { kept, keep, drop } = useKept(id)
  const [draft, setDraft] = useState<Draft>(() => kept ?? draftOf(stored))
  const [newer, setNewer] = useState<{ of: Base; found: Difference[] }>()
  const [failed, setFailed] = useState<unknown>()
  const [isUnderWay, setUnderWay] = useState(false)
  const list = useRef<HTMLDivElement>(null)
  const path = { config_id: id }
  const lookAtPayload = useLook('v4GetRemoteConfigurationPayload', { path })
  const lookAtTypes = useLook('v4GetRemoteConfigurationPayloadMapping', { path })
  const payload = useWrite('v4ReplaceRemoteConfigurationPayload', CHANGES)
  const types = useWrite('v4SetRemoteConfigurationPayloadMapping', CHANGES)
  const { base, rows, text } = draft
  const change = (to: Draft) => {
    setDraft(to)
    keep(to)
  }
  const faults = faultsOf(text === undefined ? rows : [])
  const read = text === undefined ? undefined : payloadIn(text)
  const result = resultOf(draft)
  const lines = result === undefined ? [] : linesOf(base, result)
  const isUnsaved = result !== undefined && !(isSame(result.payload, base.payload) && isSameTypes(result.mapping, base.mapping))
  useEffect(() => {
    list.current?.querySelector<HTMLElement>('.payload-row input, textarea, [data-add]')?.focus()
  }, [])

  const now = async (): Promise<Base> => ({ payload: (await lookAtPayload()).data, mapping: (await lookAtTypes()).data })
  const store = async (to: Base, from: Base) => {
    if (!isSame(to.payload, from.payload)) await payload.send({ path, body: { data: to.payload } })
    if (!isSameTypes(to.mapping, from.mapping)) await types.send({ path, body: { data: to.mapping } })
  }
  const undo = async (saved: Base, before: Base) => {
    const found = await now()
    if (!isSame(found.payload, saved.payload) || !isSameTypes(found.mapping, saved.mapping))
      throw new Error(t('somebody has changed it since then'))
    await store(before, saved)
  }
  const save = useOne(async () => {
    if (result === undefined || !isUnsaved) return
    setFailed(undefined)
    setUnderWay(true)
    try {
      const found = await now()
      // What of this was stored before an answer was lost is no change of somebody else.
      const isOurs =
        isSame(found.payload, result.payload) && (isSameTypes(found.mapping, base.mapping) || isSameTypes(found.mapping, result.mapping))
      if (!isOurs && (!isSame(found.payload, base.payload) || !isSameTypes(found.mapping, base.mapping))) {
        const seen = linesOf(base, found).map(({ key, was, is }) => ({
          field: key,
          theirs: is ?? (was === undefined ? '' : t('taken out')),
        }))
        change({ ...draft, base: found })
        return setNewer({ of: found, found: seen.length > 0 ? seen : [{ field: t('Order'), theirs: t('another one') }] })
      }
      await store(result, found)
      drop()
      sayWithUndo(t('The payload is saved'), () => undo(result, base))
      onClose()
    } finally {
      setUnderWay(false)
    }
  })
  const turn = () => {
    const to = turned(draft)
    if (to === undefined) return say(t('First correct what is marked: it cannot be shown the other way before.'))
    change(to)
  }
  const details = payload.error?.details ?? []
  return (
    <form
      className="payload-edit growth-form"
      onSubmit={event => {
        event.preventDefault()
        void save().catch(setFailed)
      }}
      ref={list as never}
    >
      <div className="payload-how">
        <Choice
          name={t('Edit as')}
          value={text === undefined ? 'fields' : 'json'}
          options={[
            ['fields', 'Fields'],
            ['json', 'JSON'],
          ]}
          onChange={turn}
        />
        <span className="growth-note">{t('Types tell this editor how to show a value; they change nothing for the app.')}</span>
      </div>
      {text === undefined ? (
        <>
          {rows.map(row => (
            <RowFields
              key={row.n}
              row={row}
              faults={{
                ...faults.get(row.n),
                ...saidOf(details, row.key),
              }}
              onChange={changed => change({ ...draft, rows: rows.map(one => (one.n === row.n ? changed : one)) })}
              onRemove={() => {
                change({ ...draft, rows: rows.filter(({ n }) => n !== row.n) })
                list.current?.querySelector<HTMLElement>('[data-add]')?.focus()
              }}
            />
          ))}
          <button
            type="button"
            className="chip dashed small"
            data-add
            onClick={() => {
              change({ ...draft, rows: [...rows, newRow()] })
              requestAnimationFrame(() =>
                [...(list.current?.querySelectorAll<HTMLElement>('.payload-row') ?? [])].at(-1)?.querySelector('input')?.focus(),
              )
            }}
          >
            {t('Add a key')}
          </button>
        </>
      ) : (
        <JsonEdit
          text={text}
          fault={read && 'fault' in read ? read.fault : undefined}
          onChange={typed => change({ ...draft, text: typed })}
        />
      )}
      {result !== undefined && <Differences lines={lines} isReordered={isUnsaved && lines.length === 0} />}
      {newer && (
        <Newer
          found={newer.found}
          onTake={() => {
            drop()
            setDraft(draftOf(newer.of))
            setNewer(undefined)
          }}
        />
      )}
      {failed !== undefined && <Fault error={failed} />}
      <div className="form-actions">
        {result && <ShowTheCall name="v4ReplaceRemoteConfigurationPayload" input={{ path, body: { data: result.payload } }} />}
        <Button
          variant="default"
          size="xs"
          onClick={() => {
            drop()
            onClose()
          }}
        >
          {t('Discard')}
        </Button>
        <Send size="xs" loading={isUnderWay} disabled={!isUnsaved}>
          {newer ? t('Save mine') : t('Save the payload')}
        </Send>
      </div>
    </form>
  )
}

/** What the service says about a value, at its row. */
function saidOf(details: readonly { field?: string; message: string }[], key: string): { value?: string } {
  const said = details.find(
    ({ field }) => field === `data.${key}` || field?.startsWith(`data.${key}.`) || field?.startsWith(`data.${key}[`),
  )
  return said ? { value: said.message } : {}
}
