import type { Experiment, ExperimentGroup } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useWrite } from '../../data/write.ts'
import { ForGood } from '../../parts/growth/for-good.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { CHANGES } from './changes.ts'

/** Takes a group off a draft. */
export default function RemoveGroup({ of: experiment, group, onClose }: { of: Experiment; group: ExperimentGroup; onClose: () => void }) {
  const input = { path: { experiment_id: experiment.id, group_id: group.id } }
  const plan = useDryRun('v4DeleteExperimentGroup', input)
  const { send } = useWrite('v4DeleteExperimentGroup', CHANGES)
  return (
    <ForGood
      title={t('Remove this group')}
      id={group.id}
      what={t('group')}
      says={[
        t('This cannot be undone: a group made anew has another id.'),
        t('People pinned to it are in no group any more; its copy of an offering goes with it.'),
      ]}
      plan={plan}
      act={t('Remove it')}
      call={<ShowTheCall name="v4DeleteExperimentGroup" input={input} />}
      onDo={async () => {
        await send(input)
        say(t('The group is removed'))
        onClose()
      }}
      onClose={onClose}
    />
  )
}
