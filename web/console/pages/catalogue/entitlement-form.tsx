import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Entitlement } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { FormFrame } from './form-frame.tsx'
import { ProductListField } from './product-list-field.tsx'

const CHANGES = ['v4ListEntitlements', 'v4GetEntitlement', 'v4GetProduct'] as const
const inWords = ({ description, product_ids }: Entitlement) => ({ description, products: [...product_ids].sort().join(', ') })

/** A new entitlement, or changes to one: only what is not as it was is sent. */
export default function EntitlementForm({
  entitlement,
  onClose,
  onDone,
}: {
  entitlement?: Entitlement
  onClose: () => void
  onDone: (id: string) => void
}) {
  const [id, setId] = useState(entitlement?.id ?? '')
  const [description, setDescription] = useState(entitlement?.description ?? '')
  const [products, setProducts] = useState<string[]>(() => [...(entitlement?.product_ids ?? [])])
  const [failed, setFailed] = useState<unknown>()
  const path = { entitlement_id: entitlement?.id ?? '' }
  const { before, newer, taken, isStill } = useBefore(
    entitlement,
    useLook('v4GetEntitlement', { path }),
    { description: t('Description'), products: t('Products') },
    inWords,
  )
  const making = useWrite('v4CreateEntitlement', { changes: CHANGES })
  const changing = useWrite('v4UpdateEntitlement', { changes: CHANGES })
  const error = making.error ?? changing.error
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field || detail.field?.startsWith(`${field}[`))?.message
  const made = { id: id.trim(), description: description.trim() || null, product_ids: products }
  const changed = before && {
    ...(made.description !== before.description && { description: made.description }),
    ...(products.join() !== before.product_ids.join() && { product_ids: products }),
  }
  const save = useOne(async () => {
    setFailed(undefined)
    try {
      if (before === undefined) {
        await making.send({ body: made })
        say(t('{id} is made', { id: made.id }))
        return onDone(made.id)
      }
      if (!(await isStill())) return
      await changing.send({ path, body: changed! })
      say(t('{id} is saved', { id: before.id }))
      onDone(before.id)
    } catch (error) {
      setFailed(error)
    }
  })
  return (
    <FormFrame
      title={entitlement ? t('Edit {id}', { id: entitlement.id }) : t('New entitlement')}
      save={entitlement ? (newer ? t('Save mine') : t('Save')) : t('Make the entitlement')}
      isPending={making.isPending || changing.isPending}
      ready={changed === undefined ? made.id !== '' : Object.keys(changed).length > 0}
      call={
        changed ? (
          <ShowTheCall name="v4UpdateEntitlement" input={{ path, body: changed }} />
        ) : (
          <ShowTheCall name="v4CreateEntitlement" input={{ body: made }} />
        )
      }
      onSave={save}
      onClose={onClose}
    >
      {!entitlement && (
        <TextInput
          label={t('Id')}
          description={t('What apps ask for, for good: letters, digits, “.”, “_” and “-”')}
          placeholder="premium"
          value={id}
          required
          maxLength={255}
          data-autofocus
          spellCheck={false}
          autoComplete="off"
          error={faultOf('id')}
          onChange={({ currentTarget: { value } }) => setId(value)}
        />
      )}
      <Textarea
        label={t('Description')}
        value={description}
        maxLength={1024}
        autosize
        maxRows={6}
        error={faultOf('description')}
        onChange={({ currentTarget: { value } }) => setDescription(value)}
      />
      <ProductListField
        label={t('Products that give it')}
        ordered={false}
        ids={products}
        onChange={setProducts}
        fault={faultOf('product_ids')}
      />
      {entitlement && <p className="soft catalogue-about">{t('A change acts at once on everybody who has bought one of them.')}</p>}
      {newer && (
        <Newer
          found={newer.found}
          onTake={() => {
            setDescription(newer.of.description ?? '')
            setProducts([...newer.of.product_ids])
            taken()
          }}
        />
      )}
      {failed !== undefined && <Fault error={failed} />}
    </FormFrame>
  )
}
