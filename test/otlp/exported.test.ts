import { expect, it, vi } from 'vitest'
import { exportedOf } from '../../src/otlp/exported.ts'
import { aSpan } from '../support/decoded-telemetry.ts'

const project = { key: 1, id: '6e4d2c1b-8a7f-4e5d-9c3b-2a1f0e9d8c61', slug: 'support' }

it('skips only a span that cannot be read, without logging its content', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const broken = aSpan({ attributes: { secret: 'sk-1' } })
  Object.defineProperty(broken, 'spanKind', {
    get: () => {
      throw new TypeError('sk-1 is not an object')
    },
  })
  const whole = { ...aSpan({ name: 'whole' }), spanId: '00000000000000bb' }
  const { traces, unreadable } = await exportedOf(project, [broken, whole, broken], 'request-1')
  expect(unreadable).toBe(2)
  expect(traces.flatMap(({ spans }) => spans)).toMatchObject([{ stepId: 'whole' }])
  expect(logged).toHaveBeenCalledTimes(1)
  const [line] = logged.mock.calls[0] ?? []
  expect(line).toContain('"event":"span_unreadable","requestId":"request-1","fault":"TypeError at ')
  expect(line).not.toContain('sk-1')
  logged.mockRestore()
})
