import type { Experiment, ExperimentGroup } from '../../../../clients/typescript/src/index.ts'
import { People } from './people.tsx'
import { Setup } from './setup.tsx'

/** What stands beside the results. It is loaded after them: the words of conditions are much of it. */
export default function Side({ of, groups }: { of: Experiment; groups: readonly ExperimentGroup[] | undefined }) {
  return (
    <>
      <Setup of={of} />
      <People of={of} groups={groups} />
    </>
  )
}
