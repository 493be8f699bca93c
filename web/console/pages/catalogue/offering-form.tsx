import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Offering } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { FormFrame } from './form-frame.tsx'
import { ProductListField } from './product-list-field.tsx'

const CHANGES = ['v4ListOfferings', 'v4GetOffering', 'v4GetProduct'] as const
const inWords = ({ product_ids }: Offering) => ({ products: product_ids.join(', ') })

/** A new offering, or another list of products for one. */
export default function OfferingForm({
  offering,
  onClose,
  onDone,
}: {
  offering?: Offering
  onClose: () => void
  onDone: (id: string) => void
}) {
  const [id, setId] = useState(offering?.id ?? '')
  const [products, setProducts] = useState<string[]>(() => [...(offering?.product_ids ?? [])])
  const [failed, setFailed] = useState<unknown>()
  const path = { offering_id: offering?.id ?? '' }
  const { before, newer, taken, isStill } = useBefore(offering, useLook('v4GetOffering', { path }), { products: t('Products') }, inWords)
  const making = useWrite('v4CreateOffering', { changes: CHANGES })
  const changing = useWrite('v4UpdateOffering', { changes: CHANGES })
  const error = making.error ?? changing.error
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field || detail.field?.startsWith(`${field}[`))?.message
  const made = { id: id.trim(), product_ids: products }
  const save = useOne(async () => {
    setFailed(undefined)
    try {
      if (before === undefined) {
        await making.send({ body: made })
        say(t('{id} is made', { id: made.id }))
        return onDone(made.id)
      }
      if (!(await isStill())) return
      await changing.send({ path, body: { product_ids: products } })
      say(t('{id} is saved', { id: before.id }))
      onDone(before.id)
    } catch (error) {
      setFailed(error)
    }
  })
  const isChanged = before === undefined ? made.id !== '' : inWords(before).products !== products.join(', ')
  return (
    <FormFrame
      title={offering ? t('Edit {id}', { id: offering.id }) : t('New offering')}
      save={offering ? (newer ? t('Save mine') : t('Save')) : t('Make the offering')}
      isPending={making.isPending || changing.isPending}
      ready={isChanged}
      call={
        offering ? (
          <ShowTheCall name="v4UpdateOffering" input={{ path, body: { product_ids: products } }} />
        ) : (
          <ShowTheCall name="v4CreateOffering" input={{ body: made }} />
        )
      }
      onSave={save}
      onClose={onClose}
    >
      {!offering && (
        <TextInput
          label={t('Id')}
          description={t('Your own, for good: letters, digits, spaces, “.”, “_”, “:” and “-”')}
          placeholder="default"
          value={id}
          required
          maxLength={64}
          data-autofocus
          spellCheck={false}
          autoComplete="off"
          error={faultOf('id')}
          onChange={({ currentTarget: { value } }) => setId(value)}
        />
      )}
      <ProductListField
        label={t('Products, in their order')}
        ordered
        ids={products}
        onChange={setProducts}
        fault={faultOf('product_ids')}
      />
      {newer && (
        <Newer
          found={newer.found}
          onTake={() => {
            setProducts([...newer.of.product_ids])
            taken()
          }}
        />
      )}
      {failed !== undefined && <Fault error={failed} />}
    </FormFrame>
  )
}
