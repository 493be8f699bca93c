import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { UnmappedProduct } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePages } from '../../data/read.ts'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { type Draft, fieldsOf, newDraft } from './draft.ts'
import { FormFrame } from './form-frame.tsx'
import { ProductFields } from './product-fields.tsx'
import { type Links, linkOf, platformText, storeName } from './words.ts'

const CHANGES = ['v4ListProducts', 'v4ListUnmappedProducts'] as const

/** A new product. `from` of the address: a product of a store that nothing links, with which it begins. */
export default function NewProduct({ onClose, onDone }: { onClose: () => void; onDone: (id: string) => void }) {
  const [{ from }] = useAddress()
  const unmapped = usePages('v4ListUnmappedProducts', { query: { limit: 20 } }, { when: from !== undefined })
  if (from !== undefined && unmapped.data === undefined && !unmapped.isError) return null
  const one = unmapped.data?.find(({ id }) => id === from)
  return <Form links={one && linkOf(one)} about={from === undefined ? undefined : aboutText(one)} onClose={onClose} onDone={onDone} />
}

const aboutText = (one: UnmappedProduct | undefined) =>
  one
    ? t('It links {id} of {store}.', { id: storeName(one), store: platformText(one.platform) })
    : t('What it was to link is linked by now, or is further down the list: type the id of the store.')

type Props = {
  links: Partial<Links> | undefined
  about: string | undefined
  onClose: () => void
  onDone: (id: string) => void
}
function Form({ links, about, onClose, onDone }: Props) {
  const [id, setId] = useState('')
  const [draft, setDraft] = useState<Draft>(() => newDraft(links))
  const { send, isPending, error } = useWrite('v4CreateProduct', { changes: CHANGES })
  const body = { id: id.trim(), ...fieldsOf(draft) }
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field)?.message
  const save = async () => {
    try {
      await send({ body })
      say(t('{id} is made', { id: body.id }))
      onDone(body.id)
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <FormFrame
      title={t('New product')}
      save={t('Make the product')}
      isPending={isPending}
      ready={body.id !== ''}
      call={<ShowTheCall name="v4CreateProduct" input={{ body }} />}
      onSave={save}
      onClose={onClose}
    >
      {about && <p className="soft catalogue-about">{about}</p>}
      <TextInput
        label={t('Id')}
        description={t('Your own, for good: letters, digits, “.”, “_” and “-”')}
        placeholder="pro_monthly"
        value={id}
        required
        maxLength={255}
        data-autofocus
        spellCheck={false}
        autoComplete="off"
        error={faultOf('id')}
        onChange={({ currentTarget: { value } }) => setId(value)}
      />
      <ProductFields draft={draft} change={more => setDraft(last => ({ ...last, ...more }))} faultOf={faultOf} />
      {error && <Fault error={error} />}
    </FormFrame>
  )
}
