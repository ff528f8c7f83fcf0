import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'

interface Package {
  optionalDependencies?: Record<string, string>
}

it('the lock file lists the binaries for every platform, so that npm ci works on all platforms', ({ expect }) => {
  const file = readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8')
  const { packages }: { packages: Record<string, Package> } = JSON.parse(file)
  const listed = new Set(Object.keys(packages).map(path => path.slice(path.lastIndexOf('node_modules/') + 13)))
  const wanted = Object.values(packages).flatMap(each => Object.keys(each.optionalDependencies ?? {}))
  // npm leaves out binaries that it didn't find in its registry.
  expect(wanted.filter(name => !listed.has(name))).toEqual([])
  expect(wanted).toContain('@cloudflare/workerd-darwin-arm64')
})
