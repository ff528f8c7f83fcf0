import { MAX_METADATA_BYTES } from '../limits.ts'
import type { Target } from './source.ts'
import type { Fields } from './values.ts'

/** The fields that fit into a trace's metadata. The others are reported. */
export function fittedMetadata(metadata: Fields, to: Target): Fields {
  const kept: [string, Fields[string]][] = []
  let bytes = 2
  for (const [name, value] of Object.entries(metadata)) {
    if (value === undefined) continue
    const added = new TextEncoder().encode(`${JSON.stringify({ [name]: value }).slice(1, -1)},`).length
    if (bytes + added > MAX_METADATA_BYTES) {
      to.unplaced(`metadata.${name}`, `more than ${MAX_METADATA_BYTES / 1024} KiB of metadata`)
      continue
    }
    bytes += added
    kept.push([name, value])
  }
  return Object.fromEntries(kept)
}
