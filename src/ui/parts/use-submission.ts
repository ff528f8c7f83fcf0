import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'

interface SubmissionOptions<Input, Answer> {
  send: (input: Input) => Promise<Answer>
  onDone?: (answer: Answer, input: Input) => unknown
  /** Where there is no place to show the `error` in. */
  onFault?: (error: Error) => unknown
}

/** A write that a second click, or Enter, does not send again while the first one is under way. */
export function useSubmission<Input, Answer>({ send, onDone, onFault }: SubmissionOptions<Input, Answer>) {
  // `isPending` comes a moment too late for a double click.
  const isUnderWay = useRef(false)
  const { mutate, isPending, error, variables, reset } = useMutation<Answer, Error, Input>({
    mutationFn: send,
    onSuccess: (answer, input) => onDone?.(answer, input),
    onError: fault => onFault?.(fault),
    onSettled: () => {
      isUnderWay.current = false
    },
  })
  const submit = (input: Input) => {
    if (isUnderWay.current) return
    isUnderWay.current = true
    mutate(input)
  }
  return { submit, isPending, error, variables, reset }
}
