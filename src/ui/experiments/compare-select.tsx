import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { ExperimentReport } from '../api/wire.ts'
import { useProject } from '../session/project.ts'
import { ofDatasetQuery } from './queries.ts'

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** Chooses another experiment on the same dataset to compare with. */
export function CompareSelect({ report: { id, projectId, datasetId } }: { report: ExperimentReport }) {
  const [, navigate] = useLocation()
  const project = useProject()
  const [isOpened, setOpened] = useState(false)
  const { data } = useQuery({ ...ofDatasetQuery(projectId, datasetId), enabled: isOpened })
  const others = (data?.experiments ?? []).filter(other => other.id !== id)
  return (
    <Select
      aria-label="Compare with"
      placeholder="Compare with…"
      size="xs"
      w={170}
      comboboxProps={{ width: 320, position: 'bottom-end' }}
      nothingFoundMessage={data ? 'No other experiment on this dataset' : 'Loading…'}
      data={others.map(({ id, name, stepId, createdAt }) => ({
        value: id,
        label: `${name ?? stepId}, ${day.format(new Date(createdAt))}`,
      }))}
      value={null}
      onDropdownOpen={() => setOpened(true)}
      // The older experiment comes first.
      onChange={other => other !== null && navigate(pathWith(`/experiments/${other}/compare/${id}`, { project }))}
    />
  )
}
