import './segments.css'
import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Segment } from '../../../../clients/typescript/src/index.ts'
import { useKeptDraft } from '../../data/kept-draft.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Conditions } from '../../parts/conditions/conditions.tsx'
import { ConditionsInWords } from '../../parts/conditions/named-pick.tsx'
import { Fault } from '../../parts/fault.tsx'
import { KeptNotice } from '../../parts/kept-notice.tsx'
import { type Difference, Newer, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { bodyOf, changesSince, draftOf, isReady, previewOf, without } from './draft.ts'
import { ListField } from './list-field.tsx'
import { Preview } from './preview.tsx'
import { usePreview } from './use-preview.ts'

const CHANGES = ['v4ListSegments', 'v4GetSegment', 'v4PreviewSegment', 'v4ListSegmentUsers'] as const

/** Makes a segment or changes one; who would be in it stands beside while it is typed. */
export default function SegmentForm({
  segment,
  onDone,
  onClose,
}: {
  segment?: Segment
  onDone: (id: string) => void
  onClose: () => void
}) {
  const kept = useKeptDraft(segment ? `segment ${segment.id}` : 'new segment', segment, draftOf)
  const { draft, base: before, type: change } = kept
  const [newer, setNewer] = useState<{ segment: Segment; found: Difference[] }>()
  const [failed, setFailed] = useState<unknown>()
  const making = useWrite('v4CreateSegment', { changes: CHANGES })
  const changing = useWrite('v4UpdateSegment', { changes: CHANGES })
  const look = useLook('v4GetSegment', { path: { segment_id: segment?.id ?? '' } })
  const preview = usePreview(previewOf(draft, segment?.id), true)
  const error = making.error ?? changing.error
  const body = bodyOf(draft)
  const done = (id: string, text: string) => {
    kept.done()
    say(text)
    onDone(id)
  }
  const save = useOne(async () => {
    setFailed(undefined)
    if (before === undefined) return done((await making.send({ body })).id, t('The segment is made'))
    const now = await look()
    const found = changesSince(before, now)
    if (found.length > 0) {
      kept.rebase(now)
      return setNewer({ segment: now, found })
    }
    await changing.send({ path: { segment_id: before.id }, body })
    done(before.id, t('The segment is saved'))
  })
  const faults = error?.details ?? []
  const ready = isReady(draft) && preview.isWhole
  return (
    <Modal
      opened
      onClose={onClose}
      size={1120}
      title={segment ? t('Edit the segment') : t('New segment')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <form
        className="form segment-form"
        onSubmit={event => {
          event.preventDefault()
          if (ready) void save().catch(setFailed)
        }}
      >
        {kept.isOld && (
          <KeptNotice
            onDiscard={() => {
              kept.discard()
              setNewer(undefined)
            }}
          />
        )}
        <div className="segment-form-parts">
          <div className="form">
            <TextInput
              label={t('Name')}
              value={draft.name}
              required
              maxLength={256}
              data-autofocus
              error={faults.find(({ field }) => field === 'name')?.message}
              onChange={({ currentTarget: { value } }) => change({ name: value })}
            />
            <Conditions
              value={draft.conditions}
              onChange={conditions => change({ conditions })}
              errors={[...faults, ...(preview.read.error?.details ?? [])]}
            />
            <ListField
              list={draft.list}
              listed={before?.listed ?? null}
              fault={[...faults, ...(preview.read.error?.details ?? [])].find(({ field }) => field?.startsWith('user_ids'))?.message}
              onChange={list => change({ list })}
            />
          </div>
          <div className="segment-form-side">
            <p className="segment-sentence">
              <ConditionsInWords conditions={draft.conditions} />
            </p>
            <Preview
              of={preview}
              onLeaveOut={ids => typeof draft.list === 'object' && change({ list: { typed: without(draft.list.typed, ids) } })}
            />
          </div>
        </div>
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              kept.take(newer.segment)
              setNewer(undefined)
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          {segment ? (
            <ShowTheCall name="v4UpdateSegment" input={{ path: { segment_id: segment.id }, body }} />
          ) : (
            <ShowTheCall name="v4CreateSegment" input={{ body }} />
          )}
          <Button
            variant="default"
            size="xs"
            onClick={() => {
              kept.done()
              onClose()
            }}
          >
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={making.isPending || changing.isPending} disabled={!ready}>
            {segment === undefined ? t('Make the segment') : newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
