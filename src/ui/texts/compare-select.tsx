import { Select } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { loadCode } from '../code/index.tsx'
import { withParameters } from '../parts/parameters.ts'
import type { Version, VersionedText } from './kinds.ts'

/** Chooses the version to compare with. */
export function CompareSelect({ text, version }: { text: VersionedText; version: Version }) {
  const [parameters, setParameters] = useSearchParams()
  const others = text.versions.filter(({ id }) => id !== version.id)
  const chosen = others.find(({ id }) => id === parameters.get('compare'))
  if (others.length === 0) return null
  return (
    <Select
      aria-label="Compare with"
      placeholder="Compare with…"
      size="xs"
      w={170}
      clearable
      data={others.map(({ id, number, isActive }) => ({
        value: id,
        label: `Version ${number}${isActive ? ' (active)' : ''}`,
      }))}
      value={chosen?.id ?? null}
      onDropdownOpen={loadCode}
      // Names both versions, so that the URL still works after another one is activated.
      onChange={id => setParameters(withParameters({ version: version.id, compare: id }))}
    />
  )
}
