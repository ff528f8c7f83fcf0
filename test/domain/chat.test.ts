import { describe, it } from 'vitest'
import { chatMessages } from '../../src/domain/chat.ts'

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const SYSTEM = { role: 'system', content: 'Be kind.' }
const CALL = { role: 'assistant', tool_calls: [{ id: '1', name: 'search', arguments: {} }] }

describe('chatMessages', () => {
  it.for([
    ['texts', 'How long?', '24 months', [user('How long?'), assistant('24 months')]],
    ['values', { q: 'How long?' }, { months: 24 }, [user('{"q":"How long?"}'), assistant('{"months":24}')]],
    ['a number and a boolean', 1, false, [user('1'), assistant('false')]],
    ['messages', [SYSTEM, user('Hi')], 'Hello', [SYSTEM, user('Hi'), assistant('Hello')]],
    [
      'an input with messages and other fields',
      { messages: [user('Hi'), CALL], temperature: 0 },
      'Hello',
      [user('Hi'), CALL, assistant('Hello')],
    ],
    ['an expected message', [user('Hi')], CALL, [user('Hi'), CALL]],
    ['a list with the expected message', [user('Hi')], [assistant('Hello')], [user('Hi'), assistant('Hello')]],
    ['an empty list', [], 'Hello', [user('[]'), assistant('Hello')]],
    ['a list of something else', [{ content: 'Hi' }], 'Hello', [user('[{"content":"Hi"}]'), assistant('Hello')]],
    ["messages that aren't a list", { messages: 2 }, 'Hello', [user('{"messages":2}'), assistant('Hello')]],
    ["somebody else's message", 'Hi', user('Hello'), [user('Hi'), assistant('{"role":"user","content":"Hello"}')]],
  ] as const)('writes %s', ([, input, expected, messages], { expect }) => {
    expect(chatMessages(JSON.stringify(input), JSON.stringify(expected))).toEqual(messages)
  })

  it('writes nothing if there is no input', ({ expect }) => {
    expect(chatMessages('null', '"Hello"')).toBeUndefined()
  })
})
