import { useQuery } from '@tanstack/react-query'
import { useProjectId } from '../session/project.ts'
import type { Version, VersionedText } from './kinds.ts'
import { gateStateQuery } from './queries.ts'

/** Whether a version meets its step's gate. Not loaded if there's no gate, or if the version was active before. */
export function useGateState({ gate, name }: VersionedText, { id, wasActive }: Version, isEnabled = true) {
  const projectId = useProjectId()
  const query = gateStateQuery(projectId, name, id)
  return useQuery({ ...query, enabled: isEnabled && projectId !== undefined && gate !== null && !wasActive })
}
