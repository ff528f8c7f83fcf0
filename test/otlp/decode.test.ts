import { describe, it } from 'vitest'
import { countDataPoints, decodeLogs, decodeTraces } from '../../src/otlp/decode.ts'
import { mediaTypeOf } from '../../src/otlp/media-type.ts'
import { recorded, unpacked } from '../support/recorded.ts'

describe('recorded exports', () => {
  it.for(recorded().filter(({ directory }) => directory !== 'quirks'))(
    '$directory/$file is decoded',
    async (recording, { expect }) => {
      const bytes = await unpacked(recording)
      const type = mediaTypeOf(recording.headers['content-type'] ?? null)
      if (recording.signal === 'metrics') {
        expect(countDataPoints(bytes, type)).toBeGreaterThan(0)
        return
      }
      const decoded = recording.signal === 'traces' ? decodeTraces(bytes, type) : decodeLogs(bytes, type)
      expect(decoded.rejected.size).toBe(0)
      expect(decoded.records.length).toBeGreaterThan(0)
    },
  )
})
