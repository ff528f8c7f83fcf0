import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'

describe('the schema', () => {
  it('has WITHOUT ROWID wherever a primary key has several columns: each write is billed one row', async ({
    expect,
  }) => {
    const { results } = await env.DB.prepare(
      "select name, sql from sqlite_master where type = 'table' and sql like '%PRIMARY KEY(%'",
    ).all<{ name: string; sql: string }>()
    expect(results.map(({ name }) => name).sort()).toEqual([
      'feedback',
      'observations',
      'spans',
      'trace_fields',
      'users',
    ])
    for (const { sql } of results) expect(sql).toMatch(/WITHOUT ROWID$/)
  })

  it.for([
    [
      'the list',
      'select * from traces where organization_key = 1 and deleted_at is null and project_key = 1 and (timestamp, id) < (1, ?) order by timestamp desc, id desc limit 50',
      'traces_by_time',
    ],
    [
      'a trace by id',
      'select * from traces where organization_key = 1 and deleted_at is null and id = ?',
      'traces_by_id',
    ],
    ['spans of a trace', 'select * from spans where trace_key = ? and is_root = 0', 'spans_by_trace'],
    ['feedback of a trace', 'select * from feedback where trace_key = ?', 'feedback_by_trace'],
    [
      'what is to be purged',
      'select * from traces where deleted_at is not null and deleted_at < ? order by deleted_at limit 9',
      'traces_deleted',
    ],
  ] as const)('serves %s from an index, without a sort', async ([, query, index], { expect }) => {
    const { results } = await env.DB.prepare(`explain query plan ${query}`).bind('x').all<{ detail: string }>()
    const plan = results.map(({ detail }) => detail).join('\n')
    expect(plan).toContain(`USING INDEX ${index}`)
    expect(plan).not.toMatch(/SCAN|TEMP B-TREE/)
  })
})
