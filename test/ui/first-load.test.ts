import { gzipSync } from 'node:zlib'
import { newOrganization } from './organization.ts'
import { sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const MAX_BYTES = 250 * 1024

test.describe('the first load stays under 250 KiB of gzipped script', () => {
  for (const { path, load } of [
    // Charts come with what there is to chart.
    { path: '/', load: newOrganization },
    { path: '/review', load: sampleProject },
    { path: '/traces', load: sampleProject },
  ]) {
    test(path, async ({ page, context }) => {
      const { key, project } = await load()
      await signIn(context, key)
      const scripts: Promise<number>[] = []
      page.on('response', response => {
        if (new URL(response.url()).pathname.endsWith('.js')) {
          scripts.push(response.body().then(body => gzipSync(body).length))
        }
      })
      await page.goto(`${path}?project=${project.slug}`)
      await page.waitForLoadState('networkidle')
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      const bytes = (await Promise.all(scripts)).reduce((sum, size) => sum + size, 0)
      expect(bytes).toBeGreaterThan(0)
      expect(bytes).toBeLessThan(MAX_BYTES)
    })
  }
})
