<?php

// Reads [{secret, id, timestamp, signatures, body, now}, ...] from standard input and prints a verdict for each.
declare(strict_types=1);

require __DIR__ . '/verify.php';

$messages = json_decode(stream_get_contents(STDIN), false, 512, JSON_THROW_ON_ERROR);
$verdict = fn (object $one): bool => verify(
    $one->secret,
    $one->id,
    $one->timestamp,
    $one->signatures,
    $one->body,
    $one->now,
);
echo json_encode(array_map($verdict, $messages), JSON_THROW_ON_ERROR);
