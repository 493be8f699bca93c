import { Button, Modal, SegmentedControl, TextInput } from '@mantine/core'
import { useState } from 'react'
import { nowHere } from '../../data/clock.ts'
import { isoDay, startOf } from '../../data/range.ts'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { sayWithUndo } from '../../parts/undo.tsx'
import type { Question } from './question.ts'

const KINDS = { release: 'Release', price_change: 'Price change', campaign: 'Campaign', other: 'Other' } as const
type Kind = keyof typeof KINDS

/** Says what happened on a day, above all charts. */
export default function Annotate({ question: { zone, search, range }, onClose }: { question: Question; onClose: () => void }) {
  const at = Number(search.at) || Math.min(range.to - 1, Math.floor(nowHere() / 1000))
  const [form, setForm] = useState({ day: isoDay(at, zone), text: '', kind: 'release' as Kind })
  const changes = ['v4ListAnalyticsAnnotations'] as const
  const { send, isPending, error } = useWrite('v4CreateAnalyticsAnnotation', { changes })
  const { send: remove } = useWrite('v4DeleteAnalyticsAnnotation', { changes })
  const save = async () => {
    const made = await send({ body: { at: startOf(form.day, zone), text: form.text.trim(), kind: form.kind } })
    if (made === undefined) return
    onClose()
    sayWithUndo(t('The annotation is on all charts'), () => remove({ path: { annotation_id: made.id } }))
  }
  return (
    <Modal opened onClose={onClose} title={t('Annotate')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void save().catch(() => {})
        }}
      >
        <TextInput
          label={t('What happened')}
          placeholder={t('iOS 5.2.0 in the store')}
          required
          maxLength={500}
          data-autofocus
          value={form.text}
          onChange={({ currentTarget }) => setForm({ ...form, text: currentTarget.value })}
        />
        <TextInput
          label={t('Day, in {zone}', { zone })}
          type="date"
          required
          value={form.day}
          onChange={({ currentTarget }) => setForm({ ...form, day: currentTarget.value })}
        />
        <SegmentedControl
          aria-label={t('Kind')}
          value={form.kind}
          onChange={kind => setForm({ ...form, kind: kind as Kind })}
          data={Object.entries(KINDS).map(([value, text]) => ({ value, label: t(text) }))}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <Button variant="default" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send loading={isPending} disabled={form.text.trim() === '' || form.day === ''}>
            {t('Annotate')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
