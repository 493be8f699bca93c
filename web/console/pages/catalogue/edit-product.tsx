import { useState } from 'react'
import type { Product } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { changedFields, type Draft, draftOf, FIELDS, inWords } from './draft.ts'
import { FormFrame } from './form-frame.tsx'
import { ProductFields } from './product-fields.tsx'

const CHANGES = ['v4ListProducts', 'v4GetProduct', 'v4GetEntitlement', 'v4ListUnmappedProducts'] as const

/** Changes a product: only what is not as it was is sent. */
export default function EditProduct({ product, onClose }: { product: Product; onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(product))
  const [failed, setFailed] = useState<unknown>()
  const path = { product_id: product.id }
  const { before, newer, taken, isStill } = useBefore(product, useLook('v4GetProduct', { path }), FIELDS, inWords)
  const { send, isPending, error } = useWrite('v4UpdateProduct', { changes: CHANGES })
  const body = changedFields(before, draft)
  const save = useOne(async () => {
    setFailed(undefined)
    try {
      if (!(await isStill())) return
      await send({ path, body })
      say(t('{id} is saved', { id: product.id }))
      onClose()
    } catch (error) {
      setFailed(error)
    }
  })
  return (
    <FormFrame
      title={t('Edit {id}', { id: product.id })}
      save={newer ? t('Save mine') : t('Save')}
      isPending={isPending}
      ready={Object.keys(body).length > 0}
      call={<ShowTheCall name="v4UpdateProduct" input={{ path, body }} />}
      onSave={save}
      onClose={onClose}
    >
      <ProductFields
        draft={draft}
        change={more => setDraft(last => ({ ...last, ...more }))}
        faultOf={field => error?.details.find(detail => detail.field === field)?.message}
      />
      {newer && (
        <Newer
          found={newer.found}
          onTake={() => {
            setDraft(draftOf(newer.of))
            taken()
          }}
        />
      )}
      {failed !== undefined && <Fault error={failed} />}
    </FormFrame>
  )
}
