import './over.css'
import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { Product, UnmappedProduct } from '../../../../clients/typescript/src/index.ts'
import { usePages, useRead } from '../../data/read.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { useLook } from '../../parts/meanwhile.tsx'
import { Pick } from '../../parts/pick.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { sayWithUndo } from '../../parts/undo.tsx'
import { type Links, linkOf, platformText, storeName } from './words.ts'

const CHANGES = ['v4ListProducts', 'v4GetProduct', 'v4ListUnmappedProducts', 'v4GetEntitlement'] as const

const same = (product: Product, fields: Partial<Links>) =>
  Object.entries(fields).every(([name, value]) => product[name as keyof Links] === value)

/** Links a product of a store to one that there is, at once and with a way back. One that has another id there already is replaced, and says so. */
export default function Link({ of, onClose }: { of: UnmappedProduct; onClose: () => void }) {
  const read = usePages('v4ListProducts', { query: { limit: 100 } })
  const [id, setId] = useState<string>()
  const [failed, setFailed] = useState<unknown>()
  const path = { product_id: id ?? '' }
  const look = useLook('v4GetProduct', { path })
  const { send, isPending } = useWrite('v4UpdateProduct', { changes: CHANGES })
  const store = platformText(of.platform)
  const fields = linkOf(of)!
  // Also of one whose id was typed, which the list may not have.
  const one = useRead('v4GetProduct', { path }, { when: id !== undefined })
  const chosen = one.data
  // What it is sold as today stays its own where only a plan is taken away: without one it stands for every plan.
  const isKept = chosen && Object.entries(fields).every(([name, value]) => value === null || chosen[name as keyof Links] === value)
  const replaced = chosen && !isKept ? Object.keys(fields).flatMap(name => chosen[name as keyof Links] ?? []) : []
  const link = useOne(async () => {
    if (id === undefined || chosen === undefined) return
    setFailed(undefined)
    try {
      const before = await look()
      const was = Object.fromEntries(Object.keys(fields).map(name => [name, before[name as keyof Links]]))
      await send({ path, body: fields })
      onClose()
      const text = t('{id} is linked to {name}', { id, name: storeName(of) })
      sayWithUndo(text, async () => {
        if (!same(await look(), fields)) throw new Error(t('somebody has changed {id} meanwhile', { id }))
        await send({ path, body: was })
      })
    } catch (error) {
      setFailed(error)
    }
  })
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('Link {name}', { name: storeName(of) })}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <form
        className="form catalogue-form"
        onSubmit={event => {
          event.preventDefault()
          void link()
        }}
      >
        <p>{t('Its purchases of {store} belong to this product from then on, the earlier ones too.', { store })}</p>
        {read.isError && <Fault error={read.error} retry={read.refetch} />}
        <div className="filters">
          <Pick
            name={t('Product')}
            text={id ?? t('Choose a product')}
            icon="tag"
            wide
            free={read.hasNextPage}
            options={(read.data ?? []).map(product => ({ code: product.id, label: product.id }))}
            chosen={id === undefined ? [] : [id]}
            onPick={setId}
          />
        </div>
        {chosen && replaced.length > 0 && (
          <p className="warn-note" role="status">
            {t('{id} is {was} in {store} today: what is sold as that would be unknown then.', {
              id: chosen.id,
              was: replaced.join(':'),
              store,
            })}
          </p>
        )}
        {one.isError && <Fault error={one.error} retry={one.refetch} />}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={isPending} disabled={chosen === undefined}>
            {t('Link it')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
