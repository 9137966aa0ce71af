package dockerd

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
)

// Import builds a Go program, given by its import path or its directory, and makes an image of it on the nodes, or where none is
// named on all, by the name given. The image holds nothing but the program, which is its entrypoint.
func (s *Swarm) Import(ctx context.Context, image, program string, nodes ...*Node) error {
	if len(nodes) == 0 {
		nodes = s.nodes
	}
	path, err := s.Build(ctx, program)
	if err != nil {
		return err
	}
	archive, err := pack(path)
	if err != nil {
		return fmt.Errorf("import %s: %w", image, err)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, node := range nodes {
		group.Go(func() error {
			if err := load(groupCtx, node.client, image, archive); err != nil {
				return fmt.Errorf("import %s on %s: %w", image, node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Tag gives an image another name, on each node.
func (s *Swarm) Tag(ctx context.Context, image, name string) error {
	for _, node := range s.nodes {
		if _, err := node.client.ImageTag(ctx, client.ImageTagOptions{Source: image, Target: name}); err != nil {
			return fmt.Errorf("tag %s on %s: %w", image, node.Name, err)
		}
	}
	return nil
}

// Build builds a Go program that needs no library, and gives its path.
func (s *Swarm) Build(ctx context.Context, program string) (string, error) {
	path := s.place.path("programs", filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, text)
	}
	return path, nil
}

// pack makes an archive that holds a program as /app.
func pack(path string) ([]byte, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	// Directories that services of tests mount something on, which they can't make in a root that is read only.
	for _, dir := range []string{"tmp/", "data/", "etc/"} {
		if err := writer.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	if err := writer.WriteHeader(&tar.Header{Name: "app", Mode: 0o755, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := writer.Write(program); err != nil {
		return nil, err
	}
	return archive.Bytes(), writer.Close()
}

func load(ctx context.Context, engine *client.Client, image string, archive []byte) (err error) {
	source := client.ImageImportSource{Source: bytes.NewReader(archive), SourceName: "-"}
	answer, err := engine.ImageImport(ctx, source, image, client.ImageImportOptions{Changes: []string{`ENTRYPOINT ["/app"]`}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	_, err = io.Copy(io.Discard, answer)
	return err
}
